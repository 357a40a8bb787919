// The read-out: pointer or arrow keys on a chart show the numbers of the nearest point. Text only, never HTML: names
// come from files.
(() => {
  const box = document.createElement("div");
  box.className = "read-out";
  box.hidden = true;
  box.setAttribute("role", "status");
  document.body.append(box);

  const attach = (chart) => {
    const { top, foot, x: axis, series, rows } = JSON.parse(chart.dataset.readOut);
    if (!rows) return;
    const marks = document.createElementNS(chart.namespaceURI, "g");
    let at = -1;

    const hide = () => { at = -1; box.hidden = true; marks.remove(); };

    const show = (index) => {
      if (index === at && !box.hidden) return;
      at = index;
      const [x, label, values] = rows[at];
      const guide = document.createElementNS(chart.namespaceURI, "path");
      guide.setAttribute("class", "guide");
      guide.setAttribute("d", `M${x} ${top}V${foot}`);
      const title = document.createElement("b");
      title.textContent = `${axis} ${label}`;
      const lines = [title];
      const spots = [guide];
      for (const [index, y, value] of values) {
        const [colour, name] = series[index];
        const line = document.createElement("span");
        line.className = colour;
        line.textContent = `${name} ${value}`;
        lines.push(line);
        const spot = document.createElementNS(chart.namespaceURI, "circle");
        spot.setAttribute("class", `spot ${colour}`);
        spot.setAttribute("cx", x);
        spot.setAttribute("cy", y);
        spot.setAttribute("r", 4);
        spots.push(spot);
      }
      box.replaceChildren(...lines);
      marks.replaceChildren(...spots);
      chart.append(marks);
      box.hidden = false;
      const frame = chart.getBoundingClientRect();
      const middle = frame.left + x * frame.width / chart.viewBox.baseVal.width;
      // To the right of the point, or to its left where there is no room.
      let left = middle + 12;
      if (left + box.offsetWidth > document.documentElement.clientWidth - 4) left = middle - 12 - box.offsetWidth;
      box.style.left = `${Math.max(4, left) + scrollX}px`;
      box.style.top = `${frame.top + 18 + scrollY}px`;
    };

    const nearest = (event) => {
      const frame = chart.getBoundingClientRect();
      const x = (event.clientX - frame.left) * chart.viewBox.baseVal.width / frame.width;
      let best = 0;
      rows.forEach((row, index) => { if (Math.abs(row[0] - x) < Math.abs(rows[best][0] - x)) best = index; });
      show(best);
    };

    chart.addEventListener("pointermove", nearest);
    chart.addEventListener("pointerdown", nearest);
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const last = rows.length - 1;
      const to = { ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last }[event.key];
      if (to === undefined) { if (event.key === "Escape") hide(); return; }
      event.preventDefault();
      show(to);
    });
  };

  // A page that puts in charts later says so by a "charts" event on the element that holds them.
  const attachAll = (within) => { box.hidden = true; within.querySelectorAll("svg.chart").forEach(attach); };
  attachAll(document);
  document.addEventListener("charts", (event) => attachAll(event.target));
})();
