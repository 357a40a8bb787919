// Every visible text with less than 4.5 : 1 between it and what it stands on (WCAG 2.2, 1.4.3), by its class.
() => {
  const read = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    const scale = colour.startsWith('color(') ? 255 : 1; // color(srgb 0.1 0.2 0.3) is what color-mix makes
    return [...numbers.slice(0, 3).map((n) => n * scale), numbers[3] ?? 1];
  };
  const over = (below, [r, g, b, alpha]) => [r, g, b].map((n, i) => n * alpha + below[i] * (1 - alpha));
  const light = (n) => (n / 255 <= 0.03928 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(at);
      const stops = backgroundImage.includes('gradient') ? backgroundImage.match(/rgba?\([^)]*\)/g) : null;
      layers.push(read(stops ? stops[stops.length - 1] : backgroundColor));
      if (layers[layers.length - 1][3] === 1) break;
    }
    return layers.reverse().reduce(over, [255, 255, 255]);
  };
  const weak = {};
  for (const node of document.querySelectorAll('.azp *')) {
    if (!node.getClientRects().length || node.closest('.azp-hidden, [aria-disabled=true], option')) continue;
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
    const style = getComputedStyle(node);
    const below = ground(node);
    const [r, g, b, alpha] = read(node instanceof SVGElement ? style.fill : style.color);
    const [one, two] = [luminance(over(below, [r, g, b, alpha * style.opacity])), luminance(below)];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) weak[`${node.tagName} ${node.getAttribute('class') || node.parentElement.className}`] = ratio;
  }
  return weak;
}
