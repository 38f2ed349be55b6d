// Numbers as words, the same as in the text report: always with their unit, never more digits than they carry.
"use strict";

const NONE = "–";

function known(value) {
  return typeof value === "number" && isFinite(value);
}

function significant(value) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  if (size >= 9.995) return value.toFixed(1);
  return size === 0 ? "0" : value.toFixed(2);
}

// With the prefix that leaves at most three digits before the point: axes have no room for more.
function scaled(value, steps) {
  if (!known(value)) return NONE;
  const step = steps.find(([factor]) => Math.abs(value) >= factor * 0.9995) || steps[steps.length - 1];
  const text = (value / step[0]).toPrecision(3);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : String(Number(text))) + step[1];
}

const THOUSANDS = [[1e9, " G"], [1e6, " M"], [1e3, " k"], [1, " "]];
const TIMES = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
const SIZES = [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]];
const SPEEDS = [[1e9, " GB/s"], [1e6, " MB/s"], [1e3, " kB/s"], [1, " B/s"]];

const UNITS = {
  "1/s": { axis: (v) => scaled(v, THOUSANDS).trim(), text: (v) => significant(v) + "/s" },
  "bytes/s": { axis: (v) => scaled(v, SPEEDS), text: (v) => scaled(v, SPEEDS) },
  "MiB/s": { axis: (v) => scaled(v, THOUSANDS).trim(), text: (v) => significant(v) + " MiB/s" },
  "bytes": { axis: (v) => scaled(v, SIZES), text: (v) => scaled(v, SIZES) },
  "ns": { axis: (v) => scaled(v, TIMES), text: (v) => scaled(v, TIMES) },
  "%": { axis: (v) => significant(v).replace(/\.0+$/, "") + " %", text: (v) => significant(v) + " %" },
  "": { axis: (v) => scaled(v, THOUSANDS).trim(), text: significant },
};

// Seconds after the start line: 40 µs, 12 s, 1:05, 1:02:03.
function clock(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds > 0 && seconds < 1e-3) return scaled(seconds * 1e9, TIMES);
  if (seconds < 60) return Number(seconds.toPrecision(3)) + " s";
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return (hours ? hours + ":" + two(minutes) : minutes) + ":" + two(whole % 60);
}

// 2 nines are 99 %, 3 are 99.9 %.
function nines(value) {
  const share = 100 - 100 * Math.pow(10, -value);
  return share.toFixed(Math.max(0, Math.ceil(value) - 2 + (value % 1 > 0.01 ? 1 : 0))).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + " %";
}

function differs(now, before) {
  if (!known(now) || !known(before) || before === 0) return "";
  const percent = (now / before - 1) * 100;
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return sign + Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0) + " %";
}
