// Slack's mrkdwn and standard Markdown as DOM nodes. Text becomes text nodes only; nothing is parsed as HTML.

const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", hourglass_flowing_sand: "⏳", lock: "🔒",
  bulb: "💡", wave: "👋", tada: "🎉", thumbsup: "👍", "+1": "👍", thumbsdown: "👎", "-1": "👎", memo: "📝", brain: "🧠",
  gear: "⚙️", stop_sign: "🛑", octagonal_sign: "🛑", no_entry: "⛔", mag: "🔍", rocket: "🚀", eyes: "👀", wastebasket: "🗑️",
  information_source: "ℹ️", question: "❓", robot_face: "🤖", calendar: "📅", clock1: "🕐", point_right: "👉", pencil2: "✏️",
};

const CODE = "`(?<code>[^`\\n]+)`";
const TOKEN = "<(?<sigil>[@#!])(?<id>[^>|]+)(?:\\|(?<label>[^>]*))?>";
const LINK = "<(?<url>(?:https?:\\/\\/|mailto:)[^>|\\s]+)(?:\\|(?<words>[^>]*))?>";
const BARE = "(?<bare>https?:\\/\\/[^\\s<>()\\[\\]]*[^\\s<>()\\[\\].,;:!?'\"，。！？；：、）])";
const SMILE = ":(?<emoji>[a-z0-9_+-]+):";
const NAMED = "!?\\[(?<text>[^\\]]*)\\]\\((?<href>(?:https?:\\/\\/|mailto:)[^)\\s]+)(?:\\s+\"[^\"]*\")?\\)";

const DIALECTS = {
  mrkdwn: new RegExp([
    CODE, TOKEN, LINK, BARE, SMILE,
    "(?<![\\w*])\\*(?<bold>[^*\\n]+)\\*(?![\\w*])",
    "(?<![\\w_])_(?<italic>[^_\\n]+)_(?![\\w_])",
    "(?<![\\w~])~(?<strike>[^~\\n]+)~(?![\\w~])",
  ].join("|"), "gu"),
  markdown: new RegExp([
    "\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+.!~|>-])", CODE, NAMED, TOKEN, LINK, BARE, SMILE,
    "\\*\\*(?<bold>(?:[^*]|\\*(?!\\*))+)\\*\\*",
    "(?<![\\w_])__(?<bold2>[^_\\n]+)__(?![\\w_])",
    "\\*(?<italic>[^*\\s][^*\\n]*)\\*",
    "(?<![\\w_])_(?<italic2>[^_\\n]+)_(?![\\w_])",
    "~~(?<strike>[^~\\n]+)~~",
  ].join("|"), "gu"),
};

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const ICONS = {
  lock: "M4 7V5a4 4 0 0 1 8 0v2h1v7H3V7zm2 0h4V5a2 2 0 0 0-4 0z",
  eye: "M8 3C4 3 1.5 6.5 1 8c.5 1.500 3 5 7 5s6.500-3.500 7-5c-.5-1.500-3-5-7-5zm0 8a3 3 0 1 1 0-6 3 3 0 0 1 0 6zm0-1.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z",
  reply: "M2 2.500h12v8.500H8l-3.500 3V11H2z",
  edit: "M10.500 2.500l3 3L6 13l-3.500.5L3 10z",
  bin: "M5.500 2h5v1.500H14V5H2V3.500h3.500zM3 6h10l-.7 8H3.700z",
  file: "M3.500 1.500h6l3 3v10h-9zm5.500 1V5h2.500z",
  group: "M5.500 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zm5.500.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM1 13c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4zm10 0c0-1.300-.4-2.400-1.100-3.300 2.500-.5 5.100.6 5.100 3.300z",
  send: "M2 2l12.500 6L2 14l2-5 5-1-5-1z",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", class: "glyph", "aria-hidden": "true" })) svg.setAttribute(key, value);
  path.setAttribute("d", ICONS[name]);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

function plain(text) {
  return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

function anchor(url, words) {
  return el("a", { href: plain(url), target: "_blank", rel: "noopener noreferrer" }, plain(words || url));
}

// A date in the reader's time zone, in the requested format (Slack: "Formatting text for app surfaces").
function moment([, seconds, format], fallback) {
  const when = new Date(Number(seconds) * 1000);
  if (!format || Number.isNaN(when.getTime())) return fallback;
  const day = (shift) => new Date(Date.now() + shift * 86_400_000).toDateString();
  const near = { [day(-1)]: "yesterday", [day(0)]: "today", [day(1)]: "tomorrow" }[when.toDateString()];
  const date = (month) => when.toLocaleDateString([], { year: "numeric", month, day: "numeric" });
  const pieces = {
    date_num: when.toISOString().slice(0, 10), date: date("long"), date_short: date("short"),
    date_long: when.toLocaleDateString([], { weekday: "long", year: "numeric", month: "long", day: "numeric" }),
    time: when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }), time_secs: when.toLocaleTimeString([]),
  };
  return format.replace(/\{(\w+)\}/g, (all, name) => (name.endsWith("_pretty") && near) || pieces[name.replace("_pretty", "")] || all);
}

function mention(sigil, id, label, names) {
  if (sigil === "@") return el("span", { class: `mention${id === names.me ? " me" : ""}` }, `@${names.person(id) || label || id}`);
  if (sigil === "#") return el("span", { class: "mention" }, `#${names.channel(id) || label || id}`);
  if (id.startsWith("date^")) return el("time", {}, moment(id.split("^"), label || id));
  return el("span", { class: "mention loud" }, `@${label || id.split("^")[0]}`);
}

function piece(found, dialect, names) {
  const g = found.groups;
  if (g.escaped) return document.createTextNode(g.escaped);
  if (g.code) return el("code", {}, plain(g.code));
  if (g.sigil) return mention(g.sigil, g.id, g.label, names);
  if (g.url) return anchor(g.url, g.words);
  if (g.href) return anchor(g.href, g.text);
  if (g.bare) return anchor(g.bare);
  if (g.emoji) return document.createTextNode(EMOJI[g.emoji] || found[0]);
  const [tag, inner] = g.bold || g.bold2 ? ["strong", g.bold || g.bold2] : g.strike ? ["s", g.strike] : ["em", g.italic || g.italic2];
  return el(tag, {}, inline(inner, dialect, names));
}

export function inline(text, dialect, names) {
  const into = document.createDocumentFragment();
  let at = 0;
  const words = (part) => part.split("\n").forEach((line, i) => {
    if (i) into.append(el("br"));
    if (line) into.append(plain(line));
  });
  for (const found of text.matchAll(DIALECTS[dialect])) {
    words(text.slice(at, found.index));
    into.append(piece(found, dialect, names));
    at = found.index + found[0].length;
  }
  words(text.slice(at));
  return into;
}

export function mrkdwn(text, names) {
  const into = document.createDocumentFragment();
  text.split(/```\n?/).forEach((part, i) => {
    if (i % 2) {
      into.append(el("pre", {}, el("code", {}, plain(part.replace(/\n$/, "")))));
      return;
    }
    let quote = [], lines = [];
    const flush = () => {
      if (quote.length) into.append(el("blockquote", {}, inline(quote.join("\n"), "mrkdwn", names)));
      if (lines.join("").trim()) into.append(el("p", {}, inline(lines.join("\n").replace(/^\n+|\n+$/g, ""), "mrkdwn", names)));
      quote = []; lines = [];
    };
    for (const line of part.split("\n")) {
      const quoted = /^(?:>|&gt;) ?(.*)$/.exec(line);
      if (quoted) { if (lines.length) flush(); quote.push(quoted[1]); } else { if (quote.length) flush(); lines.push(line); }
    }
    flush();
  });
  return into;
}

const FENCE = /^ {0,3}(```+|~~~+)\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const QUOTE = /^ {0,3}(?:>|&gt;) ?(.*)$/;
const ITEM = /^(\s*)(?:([-*+•])|(\d+)[.)])\s+(.*)$/;
const DASHES = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

function cells(line) {
  const trimmed = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return trimmed.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function table(lines, names) {
  const aligns = cells(lines[1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left"));
  const row = (line, tag) => el("tr", {}, ...cells(line).map((cell, i) =>
    el(tag, { class: `to-${aligns[i] || "left"}` }, inline(cell, "markdown", names))));
  return el("div", { class: "table" }, el("table", {},
    el("thead", {}, row(lines[0], "th")), el("tbody", {}, ...lines.slice(2).map((line) => row(line, "td")))));
}

function list(lines, names) {
  const items = [];
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found) items.push({ depth: found[1].length, number: found[3], lines: [found[4]] });
    else items.at(-1).lines.push(line.trim());
  }
  const build = (from) => {
    const depth = items[from].depth;
    const node = el(items[from].number ? "ol" : "ul", items[from].number ? { start: items[from].number } : {});
    let i = from;
    while (i < items.length && items[i].depth >= depth) {
      if (items[i].depth > depth + 1 && node.lastChild) {
        const [inner, next] = build(i);
        node.lastChild.append(inner);
        i = next;
        continue;
      }
      const words = items[i].lines.join("\n");
      const box = /^\[([ xX])\] (.*)$/s.exec(words);
      node.append(el("li", {}, box ? (box[1] === " " ? "☐ " : "☑ ") : null, inline(box ? box[2] : words, "markdown", names)));
      i += 1;
    }
    return [node, i];
  };
  const into = document.createDocumentFragment();
  for (let i = 0; i < items.length;) {
    const [node, next] = build(i);
    into.append(node);
    i = next;
  }
  return into;
}

export function markdown(text, names) {
  const into = document.createDocumentFragment();
  const lines = text.split("\n");
  let paragraph = [], i = 0;
  const flush = () => {
    if (paragraph.length) into.append(el("p", {}, inline(paragraph.join("\n"), "markdown", names)));
    paragraph = [];
  };
  const gather = (test) => {
    const found = [];
    while (i < lines.length && test(lines[i])) found.push(lines[i++]);
    return found;
  };
  while (i < lines.length) {
    const line = lines[i];
    const fence = FENCE.exec(line);
    if (fence) {
      flush(); i += 1;
      const body = gather((one) => !one.trim().startsWith(fence[1]));
      i += 1;
      into.append(el("pre", {}, el("code", { "data-language": fence[2] || null }, body.join("\n"))));
    } else if (HEADING.test(line)) {
      flush(); i += 1;
      into.append(el("h3", {}, inline(HEADING.exec(line)[2], "markdown", names)));
    } else if (RULE.test(line)) {
      flush(); i += 1;
      into.append(el("hr"));
    } else if (QUOTE.test(line)) {
      flush();
      into.append(el("blockquote", {}, markdown(gather((one) => QUOTE.test(one)).map((one) => QUOTE.exec(one)[1]).join("\n"), names)));
    } else if (line.includes("|") && DASHES.test(lines[i + 1] || "") && (lines[i + 1] || "").includes("-")) {
      flush();
      into.append(table(gather((one) => one.includes("|")), names));
    } else if (ITEM.test(line)) {
      flush();
      into.append(list(gather((one) => ITEM.test(one) || /^\s{2,}\S/.test(one)), names));
    } else {
      if (line.trim()) paragraph.push(line); else flush();
      i += 1;
    }
  }
  flush();
  return into;
}
