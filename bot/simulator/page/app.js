// The page: its state, drawing, gestures, and the live feed.

import { blocks, textOf } from "/page/blocks.js";
import { confirm, showModal } from "/page/dialogs.js";
import { el, icon } from "/page/markup.js";

const BOT = "U0HERMES";
const FIRST = ["U0ANA", "U0BEN", "U0CHO"];
const $ = (id) => document.getElementById(id);
const state = {
  me: localStorage.getItem("me") || FIRST[0], channel: "", thread: "", people: {}, channels: [], commands: [], suggested: [], examples: [],
  app: "bot", messages: new Map(), ephemerals: new Map(), sessions: new Map(), unread: new Set(), editing: "",
};
const names = {
  get me() { return state.me; },
  person: (id) => (id === BOT ? cap(state.app) : state.people[id]?.real_name),
  channel: (id) => place(id)?.name,
};

function cap(word) { return word.charAt(0).toUpperCase() + word.slice(1); }
function place(id) { return state.channels.find((one) => one.id === id); }
function label(one) {
  if (one.is_im) return cap(state.app);
  if (one.is_mpim) return one.members.filter((id) => id !== state.me).map((id) => (id === BOT ? cap(state.app) : state.people[id].real_name.split(" ")[0])).join(", ");
  return one.name;
}
function sign(one) { return one.is_im ? "" : one.is_mpim ? icon("group") : one.is_private ? icon("lock") : "#"; }

async function ask(verb, body = {}) {
  const response = await fetch(`/control/${verb}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!answer.ok) throw Object.assign(new Error(answer.error), { code: answer.error, messages: answer.messages });
  return answer.result;
}

const REFUSALS = {
  commands_do_not_work_in_threads: "Slash commands don't work in threads. Mention the app and write !stop, for example, or type the command in the channel.",
  no_such_command: "The app does not have this command.",
  no_stop_button: "There is nothing to stop here.",
  not_in_channel: "You are not in this channel.",
};
let noticeTimer = 0;
function notice(text) {
  clearTimeout(noticeTimer);
  $("notice").textContent = text;
  $("notice").hidden = !text;
  if (text) noticeTimer = setTimeout(() => notice(""), 6000);
}
async function attempt(work) {
  try {
    return await work();
  } catch (problem) {
    notice(REFUSALS[problem.code] || (problem.code ? `Refused: ${problem.code}` : "The simulator does not respond."));
    return undefined;
  }
}

// Drawing

function time(ts) { return new Date(Number(ts) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }); }
function face(user, small = false) {
  const name = names.person(user) || user;
  const letters = user === BOT ? cap(state.app)[0] : name.split(" ").map((word) => word[0]).join("").slice(0, 2);
  return el("span", { class: `face hue-${[...user].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6}${user === BOT ? " bot" : ""}${small ? " small" : ""}`, "aria-hidden": "true" }, letters);
}

function draw() {
  drawPlaces();
  drawFaces();
  drawChannel();
  drawThread();
}

function drawPlaces() {
  const mine = state.channels.filter((one) => one.members.includes(state.me));
  const group = (title, list) => (list.length ? el("section", {}, el("h2", {}, title), el("ul", {}, ...list.map((one) =>
    el("li", {}, el("button", {
      type: "button", class: `place${one.id === state.channel ? " here" : ""}${state.unread.has(one.id) ? " unread" : ""}`,
      "data-testid": "channel-item", "data-channel": one.id, "aria-current": one.id === state.channel ? "page" : null,
      onclick: () => go(one.id),
    }, one.is_im ? face(BOT, true) : el("span", { class: "sign" }, sign(one)), label(one)))))) : null);
  $("places").replaceChildren(...[
    group("Channels", mine.filter((one) => !one.is_im && !one.is_mpim)),
    group("Direct messages", mine.filter((one) => one.is_im || one.is_mpim)),
  ].filter(Boolean));
}

function drawFaces() {
  const button = (id) => el("button", {
    type: "button", role: "radio", class: `who${id === state.me ? " on" : ""}`, "aria-checked": String(id === state.me), "data-testid": "person",
    "data-person": id, title: state.people[id].real_name, onclick: () => become(id),
  }, face(id, true), el("span", {}, state.people[id].real_name.split(" ")[0]));
  const others = Object.values(state.people).filter((one) => !one.is_bot && !FIRST.includes(one.id)).map((one) => one.id);
  const more = others.length ? el("details", { open: others.includes(state.me) }, el("summary", {}, "Guests and others"), el("div", { class: "faces" }, ...others.map(button))) : null;
  $("faces").replaceChildren(...FIRST.filter((id) => state.people[id]).map(button), ...(more ? [more] : []));
}

function replies(root) {
  return [...state.messages.values()].filter((one) => one.channel === state.channel && one.thread_ts === root && one.ts !== root);
}

function drawMessage(message, inThread) {
  const own = message.user === state.me && !message.subtype;
  const on = { names, press: (element, block) => press(message, element, block) };
  const content = el("div", { class: "content", "data-testid": "message-text" });
  if (state.editing === message.ts) content.append(editor(message));
  else content.append(message.blocks.length ? blocks(message.blocks, on) : textOf(message, names));
  const last = content.lastElementChild?.matches("p") ? content.lastElementChild : content;
  if (message.streaming_state === "in_progress") last.append(el("span", { class: "caret", "aria-label": "writing" }));
  const files = message.files.map((file) => el("span", { class: "file" }, icon("file"), ` ${file.name}`));
  const count = inThread || message.ephemeral ? 0 : replies(message.ts).length;
  const session = state.sessions.get(`${message.channel}:${message.ts}`);
  return el("li", {
    class: `message${message.ephemeral ? " ephemeral" : ""}${message.subtype ? " system" : ""}`, "data-testid": message.ephemeral ? "ephemeral" : "message",
    "data-ts": message.ts, "data-user": message.user, "data-state": message.streaming_state,
  },
    face(message.user),
    el("div", { class: "body" },
      message.ephemeral ? el("p", { class: "only" }, icon("eye"), " Only visible to you") : null,
      el("header", {}, el("strong", {}, names.person(message.user) || message.user), message.is_bot ? el("span", { class: "badge" }, "APP") : null,
        el("time", {}, time(message.ts)), message.edited && !message.is_bot ? el("small", {}, "(edited)") : null),
      content, ...files,
      count || (session?.status === "processing" && !inThread) ? el("button", { type: "button", class: "replies", "data-testid": "open-thread", onclick: () => openThread(message.ts) },
        count ? `${count} ${count === 1 ? "reply" : "replies"}` : "", session?.status === "processing" ? el("span", { class: "dots" }, el("i"), el("i"), el("i")) : "") : null),
    message.ephemeral ? null : el("div", { class: "tools" },
      inThread ? null : el("button", { type: "button", class: "icon", title: "Reply in thread", "data-testid": "reply", onclick: () => openThread(message.ts) }, icon("reply")),
      own ? el("button", { type: "button", class: "icon", title: "Edit", "data-testid": "edit", onclick: () => { state.editing = message.ts; drawChannel(); drawThread(); } }, icon("edit")) : null,
      own ? el("button", { type: "button", class: "icon", title: "Delete", "data-testid": "delete", onclick: () => attempt(() => ask("delete", { user: state.me, channel: message.channel, ts: message.ts })) }, icon("bin")) : null));
}

function editor(message) {
  const area = el("textarea", { class: "editor", rows: 2, "data-testid": "editor" });
  area.value = message.text.replace(/<@(\w+)>/g, (_, id) => `@${id === BOT ? state.app : state.people[id]?.name || id}`)
    .replace(/<#\w+\|([^>]+)>/g, "#$1").replace(/<(https?:[^>|]+)>/g, "$1").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const done = () => { state.editing = ""; drawChannel(); drawThread(); };
  const save = async () => {
    await attempt(() => ask("edit", { user: state.me, channel: message.channel, ts: message.ts, text: area.value }));
    done();
  };
  return el("div", {}, area, el("div", { class: "actions" },
    el("button", { type: "button", class: "button", onclick: done }, "Cancel"),
    el("button", { type: "button", class: "button primary", "data-testid": "save-edit", onclick: save }, "Save")));
}

// Put items ({key, mark, make}) into a list. A node whose mark is unchanged stays, with its focus and selection.
function fill(list, scroll, items, beside = () => {}) {
  const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  const top = scroll.scrollTop;
  const opened = new Set([...list.querySelectorAll("details[open]")].map((one) => one.closest("li").dataset.ts + one.dataset.task));
  const old = list.kept || new Map();
  list.kept = new Map(items.map(({ key, mark, make }) => [key, old.get(key)?.mark === mark ? old.get(key) : { mark, node: make() }]));
  const nodes = [...list.kept.values()].map((one) => one.node);
  for (const child of [...list.children]) if (!nodes.includes(child)) child.remove();
  let at = list.firstChild;
  for (const node of nodes) {
    if (at === node) at = at.nextSibling;
    else list.insertBefore(node, at);
  }
  for (const one of list.querySelectorAll("details")) if (opened.has(one.closest("li").dataset.ts + one.dataset.task)) one.open = true;
  beside();
  scroll.scrollTop = atEnd ? scroll.scrollHeight : top;
}

function item(message, inThread) {
  const session = state.sessions.get(`${message.channel}:${message.ts}`);
  const mark = JSON.stringify([message, inThread ? 0 : replies(message.ts).length, session?.status, state.editing === message.ts, state.me]);
  return { key: message.ts, mark, make: () => drawMessage(message, inThread) };
}

function onlyMine(thread) {
  return [...state.ephemerals.values()].filter((one) => one.to === state.me && one.channel === state.channel && (one.thread_ts || "") === thread);
}

function byTs(a, b) { return Number(a.ts) - Number(b.ts); }

function drawChannel() {
  const here = place(state.channel);
  $("title").replaceChildren(sign(here), " ", label(here));
  const count = here.members.length;
  $("topic").textContent = here.is_im ? `Your direct messages with ${cap(state.app)}` : `${count} members${here.is_ext_shared ? " · shared with another organization" : ""}${here.members.includes(BOT) ? "" : ` · ${state.app} is not here`}`;
  document.title = `${label(here)} · Simulator`;
  $("composer-text").placeholder = here.is_im ? `Message ${cap(state.app)}` : `Message ${here.is_mpim ? "" : "#"}${label(here)} (mention @${state.app})`;
  const tops = [...state.messages.values()].filter((one) => one.channel === state.channel && (!one.thread_ts || one.thread_ts === one.ts || one.subtype === "thread_broadcast"));
  const shown = [...tops, ...onlyMine("")].sort(byTs);
  const empty = el("li", { class: "empty" }, here.is_im ? `This is the start of your conversation with ${cap(state.app)}.` : `This is the start of ${label(here)}.${here.members.includes(BOT) ? ` Mention @${state.app} to ask something.` : ""}`);
  fill($("channel-messages"), $("channel-scroll"), shown.length ? shown.map((one) => item(one, false)) : [{ key: here.id, mark: "", make: () => empty }]);
  $("prompts").replaceChildren(...(here.is_im && !tops.length ? state.suggested : []).map((one) =>
    el("button", { type: "button", class: "chip", "data-testid": "prompt", onclick: () => say(one.message, "") }, one.title)));
  drawTries(here);
}

// Drawn once per channel and person: drawing it again would move it back to its first button.
function drawTries(here) {
  const key = `${here.id} ${state.me}`;
  if ($("examples").dataset.key === key) return;
  $("examples").dataset.key = key;
  $("examples").hidden = !state.examples.length || !here.members.includes(BOT);
  const language = state.people[state.me].locale.startsWith("zh") ? 1 : 0;
  $("examples").replaceChildren(...state.examples.map((sentences) => el("button", {
    type: "button", class: "chip", "data-testid": "try", onclick: () => say(`${here.is_im ? "" : `@${state.app} `}${sentences[language]}`, ""),
  }, sentences[language])));
}

const STATUS = { processing: (who) => `${who} is working…`, suspended: (who) => `${who} is waiting for you`, closed: (who) => `${who} has closed this session` };

function drawThread() {
  $("thread").hidden = !state.thread;
  $("shell").classList.toggle("with-thread", Boolean(state.thread));
  if (!state.thread) return;
  const root = state.messages.get(`${state.channel}:${state.thread}`);
  const shown = [...(root ? [root] : []), ...replies(state.thread), ...onlyMine(state.thread)].sort(byTs);
  const session = state.sessions.get(`${state.channel}:${state.thread}`);
  const words = session && STATUS[session.status];
  fill($("thread-messages"), $("thread-scroll"), shown.map((one) => item(one, true)), () => status(session, words));
}

function status(session, words) {
  $("thread-title").textContent = session?.title || label(place(state.channel));
  $("working").hidden = !words;
  $("working").dataset.status = session?.status || "";
  $("working-text").textContent = words ? (session.note ? `${cap(state.app)} ${session.note}` : words(cap(state.app))) : "";
  $("stop").hidden = session?.status !== "processing";
}

// Navigation

async function go(channel) {
  Object.assign(state, { channel, thread: "", editing: "" });
  state.unread.delete(channel);
  $("shell").classList.remove("menu-open");
  sessionStorage.setItem("channel", channel);
  notice("");
  await load();
}

async function become(id) {
  state.me = id;
  localStorage.setItem("me", id);
  const here = place(state.channel);
  const dm = state.channels.find((one) => one.is_im && one.members.includes(id));
  if (here.is_im && dm) await go(dm.id);
  else if (!here.members.includes(id)) await go(state.channels.find((one) => one.members.includes(id)).id);
  else await load();
  modal(await ask("modal", { user: id }));
}

async function load() {
  const channel = state.channel;
  const [tops, mine, prompts] = await Promise.all([ask("messages", { channel }), ask("ephemerals", { user: state.me }), ask("prompts", { channel })]);
  if (channel !== state.channel) return;
  state.messages.clear();
  const threads = await Promise.all(tops.filter((one) => one.reply_count).map((one) => ask("thread", { channel, ts: one.ts })));
  for (const one of [...tops, ...threads.flat()]) state.messages.set(`${channel}:${one.ts}`, one);
  state.ephemerals = new Map(mine.map((one) => [one.ts, { ...one, to: state.me }]));
  if (prompts) state.suggested = prompts.prompts;
  draw();
  $("channel-scroll").scrollTop = $("channel-scroll").scrollHeight;
}

async function openThread(ts) {
  state.thread = ts;
  const session = await ask("session", { channel: state.channel, thread_ts: ts });
  if (session) state.sessions.set(`${state.channel}:${ts}`, session);
  drawThread();
  $("thread-scroll").scrollTop = $("thread-scroll").scrollHeight;
}

// Gestures

async function say(text, thread) {
  const body = { user: state.me, channel: state.channel, text };
  const command = state.commands.find((one) => text === one.command || text.startsWith(`${one.command} `));
  if (command) {
    const rest = text.slice(command.command.length).trim();
    const answer = await attempt(() => ask("command", { user: state.me, channel: state.channel, command: command.command, text: rest, thread_ts: thread || null }));
    if (answer && !answer.acked) notice(`${command.command} failed: the app did not answer in time.`);
    return;
  }
  if (/^\/[a-z]/.test(text)) { notice(REFUSALS.no_such_command); return; }
  const ts = await attempt(() => ask("say", { ...body, thread_ts: thread || null }));
  const here = place(state.channel);
  const named = text.toLowerCase().includes(`@${state.app.toLowerCase()}`) || text.includes(`<@${BOT}`);
  if (ts && !thread && here.members.includes(BOT) && (here.is_im || named)) await openThread(ts);
}

async function press(message, element, block) {
  if (element.confirm && !(await confirm(element.confirm, names))) return;
  if (element.url && /^https?:/.test(element.url)) window.open(element.url, "_blank", "noopener");
  const answer = await attempt(() => ask("click", { user: state.me, message_ts: message.ts, action_id: element.action_id, value: element.value ?? null }));
  if (answer && !answer.acked) notice("The app did not answer in time.");
}

function modal(view) {
  showModal(view, {
    people: state.people, names,
    submit: async (values) => {
      const answer = await attempt(() => ask("submit_view", { user: state.me, values }));
      if (answer && !answer.acked) notice("The app did not answer in time.");
      return answer?.payload?.errors || {};
    },
    close: () => attempt(() => ask("close_view", { user: state.me })),
    press: (element) => attempt(() => ask("click_view", { user: state.me, action_id: element.action_id, value: element.value ?? null })),
  });
}

function composer(form, area, send) {
  const grow = () => { area.style.height = "auto"; area.style.height = `${Math.min(area.scrollHeight, 180)}px`; };
  area.addEventListener("input", grow);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = area.value;
    if (!text.trim()) return;
    area.value = "";
    grow();
    area.dispatchEvent(new Event("input"));
    send(text);
  });
}

function hints() {
  const text = $("composer-text").value;
  const found = /^\/\S*$/.test(text) ? state.commands.filter((one) => one.command.startsWith(text)) : [];
  $("hints").hidden = !found.length;
  $("hints").replaceChildren(...found.map((one) => el("li", {}, el("button", {
    type: "button", onclick: () => { $("composer-text").value = `${one.command} `; $("composer-text").focus(); hints(); },
  }, el("strong", {}, one.command), ` ${one.usage_hint || ""}`, el("small", {}, one.description)))));
}

// Live changes

const APPLY = {
  message: ({ channel, ts, message }) => {
    if (message && channel !== state.channel) {
      if (message.user !== state.me && place(channel)?.members.includes(state.me)) { state.unread.add(channel); drawPlaces(); }
      return;
    }
    if (message) state.messages.set(`${channel}:${ts}`, message); else state.messages.delete(`${channel}:${ts}`);
  },
  ephemeral: ({ ts, user, message }) => {
    if (message) state.ephemerals.set(ts, { ...message, to: user }); else state.ephemerals.delete(ts);
  },
  session: ({ channel, thread_ts: thread, session }) => state.sessions.set(`${channel}:${thread}`, session),
  view: ({ user, view }) => { if (user === state.me) modal(view); },
  prompts: async ({ channel }) => { if (channel === state.channel) state.suggested = (await ask("prompts", { channel })).prompts; },
};

function listen() {
  const feed = new EventSource("/control/feed");
  feed.onopen = () => { if (state.channel) load(); };
  feed.onmessage = async (event) => {
    for (const change of JSON.parse(event.data)) await APPLY[change.kind]?.(change);
    if (!state.editing) drawChannel();
    if (!state.editing) drawThread();
  };
}

async function watchSockets() {
  const traffic = await ask("traffic").catch(() => ({ connected: -1 }));
  const on = traffic.connected > 0;
  $("lamp").className = `lamp ${on ? "on" : "off"}`;
  $("lamp").textContent = on ? "app connected" : traffic.connected < 0 ? "simulator stopped" : "app not connected";
}

// A stream or a status that ends by time alone sends no change: read the open thread again while it is processing.
async function watchThread() {
  const { channel, thread } = state;
  if (!thread) return;
  if (state.sessions.get(`${channel}:${thread}`)?.status !== "processing") return;
  const [found, session] = await Promise.all([ask("thread", { channel, ts: thread }), ask("session", { channel, thread_ts: thread })]).catch(() => [[], null]);
  if (channel !== state.channel || !session) return;
  for (const one of found) state.messages.set(`${channel}:${one.ts}`, one);
  state.sessions.set(`${channel}:${thread}`, session);
  if (!state.editing) drawThread();
}

async function begin() {
  const found = await ask("state");
  Object.assign(state, { people: found.people, channels: found.channels, commands: found.commands, suggested: found.suggested, examples: found.examples, app: found.app });
  if (!state.people[state.me]) state.me = FIRST[0];
  $("banner").hidden = !found.banner;
  $("banner").textContent = found.banner || "";
  for (const button of document.querySelectorAll(".send")) button.replaceChildren(icon("send"));
  composer($("composer"), $("composer-text"), (text) => say(text, ""));
  composer($("thread-composer"), $("thread-text"), (text) => say(text, state.thread));
  $("composer-text").addEventListener("input", hints);
  $("thread-close").onclick = () => { state.thread = ""; drawThread(); };
  $("menu").onclick = () => $("shell").classList.toggle("menu-open");
  $("stop").onclick = () => attempt(() => ask("press_stop", { user: state.me, channel: state.channel, thread_ts: state.thread }));
  const link = /^\/archives\/(\w+)\/p(\d+)(\d{6})$/.exec(location.pathname);
  const wanted = link?.[1] || sessionStorage.getItem("channel");
  const mine = (id) => place(id)?.members.includes(state.me);
  await go(mine(wanted) ? wanted : state.channels.find((one) => one.members.includes(state.me) && !one.is_im).id);
  if (link && mine(link[1])) await openThread(new URLSearchParams(location.search).get("thread_ts") || `${link[2]}.${link[3]}`);
  listen();
  watchSockets();
  setInterval(() => { watchSockets(); watchThread(); }, 5000);
}

begin();
