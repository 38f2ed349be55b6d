// Numbers with their units: read as people write them, written as they read them.

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB"];

function scaled(value, base, names, digits) {
  let step = 0;
  while (Math.abs(value) >= base && step < names.length - 1) {
    value /= base;
    step += 1;
  }
  const exact = step === 0 || Number.isInteger(value);
  return trimmed(exact ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? Math.min(1, digits) : digits)) + " " + names[step];
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// 4096 → "4 KiB"; what is no whole number of a binary unit is exact in bytes.
export function size(bytes) {
  if (!bytes) return "0";
  const text = scaled(bytes, 1024, BINARY, 2);
  return parseSize(text) === bytes ? text : exactly(bytes);
}

function exactly(bytes) {
  const decimal = scaled(bytes, 1000, DECIMAL, 3);
  return parseSize(decimal) === bytes ? decimal : bytes + " B";
}

export function about(bytes) {
  return bytes === null || bytes === undefined ? "–" : scaled(bytes, 1024, BINARY, 1);
}

export function rate(bytes) {
  return scaled(bytes, 1000, DECIMAL, 2) + "/s";
}

const FACTORS = { "": 1, b: 1, k: 1024, kib: 1024, m: 1024 ** 2, mib: 1024 ** 2, g: 1024 ** 3, gib: 1024 ** 3, t: 1024 ** 4, tib: 1024 ** 4, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, s: 512, sectors: 512 };

// "4k", "4 KiB", "50 GB", "100 sectors" → bytes; NaN: none of these.
export function parseSize(text) {
  const match = /^\s*([\d.,]+)\s*([a-z]*)\s*$/i.exec(text);
  const factor = match && FACTORS[match[2].toLowerCase()];
  return match && factor ? Math.round(Number(match[1].replaceAll(",", "")) * factor) : text.trim() === "" ? 0 : NaN;
}

// "90", "1:30", "1:00:00", "5 min" → seconds.
export function parseTime(text) {
  const clock = /^\s*(?:(\d+):)?(\d+):(\d\d)\s*$/.exec(text);
  if (clock) return Number(clock[1] || 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  const match = /^\s*(\d+)\s*(s|sec|min|m|h|)\s*$/i.exec(text);
  if (!match) return NaN;
  return Number(match[1]) * { "": 1, s: 1, sec: 1, m: 60, min: 60, h: 3600 }[match[2].toLowerCase()];
}

export function seconds(value) {
  value = Math.max(0, Math.round(value));
  const pad = (number) => String(number).padStart(2, "0");
  if (value < 60) return value + " s";
  const [hours, minutes, rest] = [Math.floor(value / 3600), Math.floor(value / 60) % 60, value % 60];
  return hours ? hours + ":" + pad(minutes) + ":" + pad(rest) + " h" : minutes + ":" + pad(rest) + " min";
}

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const shown = Math.abs(value) >= 100 || Number.isInteger(value) ? Math.round(value) : Number(value.toPrecision(3));
  return shown.toLocaleString("en-US");
}

export function brief(value) {
  if (value >= 1e6) return trimmed((value / 1e6).toFixed(value >= 1e7 ? 1 : 2)) + " M";
  if (value >= 1e4) return trimmed((value / 1e3).toFixed(value >= 1e5 ? 0 : 1)) + " k";
  return count(value);
}

export function latency(ns) {
  if (ns === null || ns === undefined) return "–";
  const [value, unit] = ns >= 1e9 ? [ns / 1e9, "s"] : ns >= 1e6 ? [ns / 1e6, "ms"] : ns >= 1e3 ? [ns / 1e3, "µs"] : [ns, "ns"];
  return trimmed(value >= 100 ? value.toFixed(0) : value.toPrecision(3)) + " " + unit;
}

export function percent(value) {
  return value === null || value === undefined ? "–" : Math.round(value) + " %";
}

// A figure of the record by its unit.
export function figure(value, unit) {
  switch (unit) {
    case "ns": return latency(value);
    case "bytes/s": return rate(value);
    case "bytes": return about(value);
    case "%": return trimmed(value.toFixed(1)) + " %";
    default: return count(value) + (unit ? " " + unit : "");
  }
}

export function when(unixNs) {
  const date = new Date(unixNs / 1e6);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
