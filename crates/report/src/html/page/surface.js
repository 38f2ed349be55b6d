// A sweep over two parameters as a surface in space: heights are figures from zero on, seen from where the reader turns it.

// How far the ground is tilted towards the reader, and how much of the height figures may take.
const TILT = 0.42;
const RISE = 0.32;
// A step of the buttons, in radians.
const TURN = Math.PI / 8;

// The surface of one sweep, or nothing where there is no area between its points.
function reliefOf(curve, rows, columns, metric) {
  if (rows.length < 2 || columns.length < 2) return null;
  let angle = Math.PI / 5;
  const element = chart(380, "the same as a surface", () => reliefOptions(curve, rows, columns, metric(), angle));
  const redraw = () => {
    const one = drawn.find((each) => each.element === element);
    if (one && one.instance) one.instance.setOption(one.options(), true);
  };
  const turned = (by) => () => { angle += by; redraw(); };
  let from = null;
  element.addEventListener("pointerdown", (event) => { from = event.clientX; });
  element.addEventListener("pointermove", (event) => {
    if (from === null || event.buttons === 0) { from = null; return; }
    angle += (event.clientX - from) / 150;
    from = event.clientX;
    redraw();
  });
  const buttons = [["turn left", -TURN], ["turn right", TURN]].map(([text, by]) => part("button", { onclick: turned(by) }, text));
  return { element: part("div", {}, part("p", {}, "the same as a surface"), element, part("div", { class: "tools", style: "margin:4px 0" }, buttons)), redraw };
}

function reliefOptions(curve, rows, columns, [field, title, unit], angle) {
  const heights = rows.map(() => columns.map(() => null));
  curve.points.forEach((point) => { if (known(point[field])) heights[rows.indexOf(point.at[0])][columns.indexOf(point.at[1])] = point[field]; });
  const values = heights.flat().filter((value) => value !== null);
  const most = Math.max(...values, Number.MIN_VALUE);
  const place = (row, column) => [column / (columns.length - 1) - 0.5, 0.5 - row / (rows.length - 1)];
  const away = ([x, y]) => x * Math.sin(angle) + y * Math.cos(angle);
  const faces = [];
  for (let row = 0; row + 1 < rows.length; row++) {
    for (let column = 0; column + 1 < columns.length; column++) {
      const corners = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]];
      const high = corners.map(([r, c]) => heights[r][c]);
      if (high.some((value) => value === null)) continue;
      const points = corners.map(([r, c], at) => [...place(r, c), high[at] / most]);
      faces.push({ points, row, column, value: high.reduce((sum, value) => sum + value, 0) / 4, far: away(place(row + 0.5, column + 0.5)) });
    }
  }
  // What is far is drawn first, and what is near over it.
  faces.sort((a, b) => a.far - b.far);
  const ground = { points: [[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]], ground: true };
  const items = [ground, ...faces, ...reliefNames(curve, rows, columns, angle)];
  const between = (names, at) => names[at] + " to " + names[at + 1];
  const told = (face) => tip(curve.parameters[0] + " " + between(rows, face.row) + ", " + curve.parameters[1] + " " + between(columns, face.column), [[null, title + ", mean of the corners", UNITS[unit].text(face.value)]]);
  return {
    animation: false,
    tooltip: tooltip({ formatter: (hit) => (items[hit.dataIndex].points && !items[hit.dataIndex].ground ? told(items[hit.dataIndex]) : "") }),
    series: [{ type: "custom", coordinateSystem: "none", animation: false, data: items.map((_, index) => [index]), renderItem: (parameters, api) => reliefItem(items[parameters.dataIndex], reliefView(api, angle), most) }],
  };
}

// From the ground's coordinates and a height from 0 to 1 to the chart's pixels.
function reliefView(api, angle) {
  const [width, height] = [api.getWidth(), api.getHeight()];
  const wide = Math.min(width * 0.6, height * 0.95);
  return ([x, y, z]) => {
    const [across, away] = [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
    return [width / 2 + across * wide, height * 0.62 + away * wide * TILT - z * height * RISE];
  };
}

function reliefItem(item, view, most) {
  if (item.name !== undefined) {
    const [x, y] = view(item.at);
    return { type: "text", silent: true, style: { text: item.name, x, y, align: "center", verticalAlign: "middle", fill: colour("soft"), fontSize: item.title ? 12 : 10 } };
  }
  const share = item.ground ? 0 : item.value / most;
  const fill = item.ground ? "transparent" : mix(colour("heat-low"), colour("heat-high"), share);
  return { type: "polygon", shape: { points: item.points.map(view) }, silent: Boolean(item.ground), style: { fill, stroke: colour(item.ground ? "line" : "paper"), lineWidth: 1 } };
}

// Names along the two edges that are nearest to the reader.
function reliefNames(curve, rows, columns, angle) {
  const y = Math.cos(angle) >= 0 ? 0.5 : -0.5;
  const x = Math.sin(angle) >= 0 ? 0.5 : -0.5;
  const beside = 1.16;
  const some = (names) => { const each = Math.ceil(names.length / 8); return names.map((name, at) => [name, at]).filter(([, at]) => at % each === 0); };
  const across = some(columns).map(([name, at]) => ({ name, at: [at / (columns.length - 1) - 0.5, y * beside, 0] }));
  const down = some(rows).map(([name, at]) => ({ name, at: [x * beside, 0.5 - at / (rows.length - 1), 0] }));
  const titles = [{ name: curve.parameters[1], title: true, at: [0, y * 1.38, 0] }, { name: curve.parameters[0], title: true, at: [x * 1.38, 0, 0] }];
  return [...across, ...down, ...titles];
}
