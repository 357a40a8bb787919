// The monitor: asks for figures every two seconds while somebody looks, and draws them. Text only, never HTML, except a
// run's charts, which the server has made safe.
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, css = "", text = "") => {
    const node = document.createElement(tag);
    if (css) node.className = css;
    node.textContent = text;
    return node;
  };
  const number = (value, digits = 0) => value == null ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const rate = (value) => number(value, value != null && value < 100 ? 1 : 0);
  const seconds = (value) => value == null ? ["–", ""]
    : value < 1 ? [number(1000 * value), "ms"] : [number(value, 2), "s"];
  const span = (value) => {
    const [days, hours, minutes] = [value / 86400, value / 3600 % 24, value / 60 % 60].map(Math.floor);
    if (days) return [`${days} d ${hours}`, "h"];
    if (hours) return [`${hours} h ${minutes}`, "min"];
    return minutes ? [String(minutes), "min"] : [String(Math.floor(value)), "s"];
  };

  // What each gauge shows of the figures: [number, unit], a line below, and the curve under it.
  const GAUGES = [
    ["Moves a second", (now) => [rate(now.moves_per_s), ""], (now) => `${number(now.moves)} so far`, "moves_per_s", 1],
    ["Think time, median", (now) => seconds(now.think_p50),
      (now) => `95 % within ${seconds(now.think_p95).join(" ")}`, "think_p95", 2],
    ["Evaluations a second", (now) => [rate(now.evaluations_per_s), ""],
      (now) => `${number(now.evaluations)} so far`, "evaluations_per_s", 3],
    ["Batch size", (now) => [number(now.batch_size, 1), ""], () => "positions a call", "batch_size", 4],
    ["Searches in flight", (now) => [number(now.in_flight), ""], () => "", "in_flight", 1],
    ["Refusals and errors", (now) => [number(now.errors_lately), ""],
      (now) => `lately, ${number(Object.values(now.errors).reduce((a, b) => a + b, 0))} so far`, null, 2],
    ["Memory", (now) => [number(now.rss_mb), "MB"], () => "", "rss_mb", 6],
    ["Up for", (now) => span(now.uptime_s), () => "", null, 1],
  ];

  const gauges = GAUGES.map(([name]) => {
    const node = make("div", "gauge");
    const [figure, more] = [make("dd", "figure"), make("dd", "more")];
    node.append(make("dt", "", name), figure, more);
    byId("gauges").append(node);
    return { node, figure, more, spark: null };
  });

  // A curve without axes: its shape over the last minutes, from 0 (memory: from its lowest) to its highest.
  function spark(values, colour, fromZero) {
    const room = Math.max(30, values.length); // from the right; a server just started has not much to show
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", `spark c${colour}`);
    svg.setAttribute("viewBox", "0 0 100 40");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const known = values.filter((value) => value != null);
    const low = fromZero ? 0 : Math.min(...known) * 0.95;
    const high = Math.max(...known, fromZero ? 0 : -Infinity);
    if (known.length < 2 || !(high > low)) return svg;
    const points = values.map((value, index) => [100 - (values.length - 1 - index) * 100 / (room - 1), value])
      .filter(([, value]) => value != null)
      .map(([x, value]) => `${x.toFixed(2)} ${(37 - 33 * (value - low) / (high - low)).toFixed(2)}`);
    const [first, last] = [points[0].split(" ")[0], points.at(-1).split(" ")[0]];
    for (const [css, d] of [["under", `M${first} 40L${points.join("L")}L${last} 40Z`], ["over", `M${points.join("L")}`]]) {
      const path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("class", css);
      path.setAttribute("d", d);
      svg.append(path);
    }
    return svg;
  }

  function draw({ now, curves, runs }) {
    GAUGES.forEach(([, figure, more, curve, colour], index) => {
      const gauge = gauges[index];
      const [value, unit] = figure(now);
      gauge.figure.replaceChildren(value, ...(unit ? [make("small", "", unit)] : []));
      gauge.more.textContent = more(now);
      gauge.spark?.remove();
      gauge.spark = curve ? spark(curves[curve], colour, curve !== "rss_mb") : null;
      if (gauge.spark) gauge.node.append(gauge.spark);
    });
    byId("networks").replaceChildren(...Object.entries(now.checkpoints).map(([game, facts]) => {
      const row = make("tr");
      const rating = facts?.rating == null ? "–" : `+${number(facts.rating)}`.replace("+-", "−");
      const cells = [game.replaceAll("_", " "), facts ? facts.source : "none", number(facts?.iterations), number(facts?.games), rating];
      row.append(...cells.map((text) => make("td", "", text)));
      return row;
    }));
    const codes = Object.entries(now.errors).sort((a, b) => b[1] - a[1]);
    byId("codes").replaceChildren(...(codes.length ? codes.map(([code, count]) => {
      const item = make("li", "", code.replaceAll("_", " "));
      item.append(make("b", "", number(count)));
      return item;
    }) : [make("li", "none", "Nothing went wrong and nobody was turned away.")]));
    drawRuns(runs);
  }

  let shown = { name: null, changed: null };

  function drawRuns(runs) {
    byId("training").hidden = !runs.length;
    if (!runs.length) return;
    if (!runs.some((run) => run.name === shown.name)) shown = { name: runs[0].name, changed: null };
    const names = runs.map((run) => run.name).join("\n");
    if (byId("runs").dataset.names !== names) {
      byId("runs").dataset.names = names;
      byId("runs").replaceChildren(...runs.map((run) => {
        const button = make("button", "", run.name);
        button.type = "button";
        button.addEventListener("click", () => { shown = { name: run.name, changed: null }; ask(); });
        return button;
      }));
    }
    for (const button of byId("runs").children) {
      button.setAttribute("aria-pressed", String(button.textContent === shown.name));
    }
    const run = runs.find((one) => one.name === shown.name);
    if (run.changed !== shown.changed) { shown.changed = run.changed; drawCurves(run.name); }
  }

  async function drawCurves(name) {
    const answer = await fetch(`monitor/runs/${encodeURIComponent(name)}`).catch(() => null);
    if (name !== shown.name) return;
    if (!answer?.ok) { shown.changed = null; return; } // the next round tries again
    byId("curves").innerHTML = await answer.text();
    byId("curves").dispatchEvent(new Event("charts", { bubbles: true }));
  }

  function say(good, text) {
    byId("state").className = `state ${good ? "good" : "bad"}`;
    byId("state-text").textContent = text;
  }

  let timer = 0;
  let asking = false;

  async function ask() {
    if (asking || document.hidden) return;
    asking = true;
    clearTimeout(timer);
    let wait = 2;
    try {
      const answer = await fetch("monitor/data", { signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(answer.status === 429 ? "the server asks for patience" : `the server says ${answer.status}`);
      const data = await answer.json();
      wait = data.every;
      draw(data);
      say(true, `live, ${new Date().toLocaleTimeString("en-GB")}`);
    } catch (error) {
      say(false, `No figures: ${error.name === "Error" ? error.message : "the server does not answer"}. Trying again.`);
    }
    asking = false;
    document.body.dataset.asked = Number(document.body.dataset.asked || 0) + 1;
    if (!document.hidden) timer = setTimeout(ask, 1000 * wait);
  }

  document.addEventListener("visibilitychange", () => { clearTimeout(timer); ask(); });
  ask();
})();
