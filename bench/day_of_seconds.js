// Draws a day of one-second values of one reading on the Charts page and gives the milliseconds.
async () => {
  const { Lines } = await import("/web/lib/things/charts.js");
  const { tableOf } = await import("/web/lib/things/history.js");
  const from = 1.7e9;
  const to = from + 86_400;
  const times = Array.from({ length: to - from }, (_, second) => from + second);
  const values = times.map((time) => 20 + 5 * Math.sin(time / 5000) + Math.random());
  const history = { from, to, now: to, step: 0, series: { DS1: { times, values } } };
  const lines = new Lines({});
  document.querySelector(".charts").append(lines.element);
  const begin = performance.now();
  await lines.draw(tableOf(history, ["DS1"]), from, to);
  await new Promise((resolve) => setTimeout(resolve));
  const took = performance.now() - begin;
  lines.close();
  lines.element.remove();
  return took;
}
