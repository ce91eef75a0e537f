// Block Kit as DOM nodes. `on.press(element, block)` is called for a click; `on.names` has the names for mentions.

import { el, inline, markdown, mrkdwn } from "/page/markup.js";

const MARKS = { pending: "○", in_progress: "◐", complete: "✓", error: "✕" };
const WORDS = { pending: "waiting", in_progress: "in progress", complete: "done", error: "failed" };

export function words(text, names) {
  if (!text) return "";
  if (typeof text === "string") return text;
  return text.type === "mrkdwn" ? mrkdwn(text.text, names) : document.createTextNode(text.text);
}

function richText(element, names) {
  const inner = (element.elements || []).map((one) => {
    if (one.elements) return richText(one, names);
    if (one.type === "link") return el("a", { href: /^(https?:|mailto:)/.test(one.url) ? one.url : null, target: "_blank", rel: "noopener noreferrer" }, one.text || one.url);
    if (one.type === "user") return el("span", { class: "mention" }, `@${names.person(one.user_id)}`);
    const style = one.style || {};
    let node = document.createTextNode(one.text || one.name || "");
    for (const [key, tag] of [["bold", "strong"], ["italic", "em"], ["strike", "s"], ["code", "code"]]) {
      if (style[key]) node = el(tag, {}, node);
    }
    return node;
  });
  if (element.type === "rich_text_list") return el(element.style === "ordered" ? "ol" : "ul", {}, ...inner.map((one) => el("li", {}, one)));
  const tag = { rich_text_quote: "blockquote", rich_text_preformatted: "pre", rich_text_section: "span" }[element.type] || "div";
  return el(tag, { class: "rich" }, ...inner);
}

function taskCard(card, names) {
  const details = [card.details, card.output].filter(Boolean).map((part) => el("div", { class: "task-text" }, richText(part, names)));
  const sources = (card.sources || []).map((one) => el("a", { href: /^https?:/.test(one.url) ? one.url : null, target: "_blank", rel: "noopener noreferrer" }, one.text || one.url));
  const head = [
    el("span", { class: "task-mark", "aria-hidden": "true" }, MARKS[card.status] || "○"),
    el("span", { class: "task-title" }, card.title),
    el("span", { class: "task-state" }, WORDS[card.status] || card.status),
  ];
  const attributes = { class: `task ${card.status}`, "data-testid": "task-card", "data-status": card.status, "data-task": card.task_id };
  if (!details.length && !sources.length) return el("div", attributes, el("div", { class: "task-head" }, ...head));
  return el("details", { ...attributes, open: card.status === "error" },
    el("summary", { class: "task-head" }, ...head), ...details, el("div", { class: "task-sources" }, ...sources));
}

function plan(block, names) {
  return el("section", { class: "plan", "data-testid": "plan" }, el("h3", {}, block.title), ...block.tasks.map((card) => taskCard(card, names)));
}

function table(block, names) {
  const cell = (one, tag) => el(tag, {}, one.type === "rich_text" ? richText(one, names) : String(one.text ?? one.value ?? ""));
  const [head, ...rows] = block.rows;
  return el("div", { class: "table" }, block.caption ? el("p", { class: "caption" }, block.caption) : null, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((one) => cell(one, "th")))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((one) => cell(one, "td")))))));
}

export function element(one, block, on) {
  if (one.type === "image") return el("img", { src: /^https:/.test(one.image_url || "") ? one.image_url : null, alt: one.alt_text, class: "small" });
  if (one.type === "mrkdwn" || one.type === "plain_text") return el("span", {}, words(one, on.names));
  if (one.visible_to_user_ids && !one.visible_to_user_ids.includes(on.names.me)) return el("span");
  if (one.type === "feedback_buttons") {
    return el("span", { class: "feedback" }, ...["positive_button", "negative_button"].map((key) =>
      el("button", { type: "button", class: "button", "data-testid": "block-button", "data-action": one.action_id,
        onclick: () => on.press({ ...one, value: one[key].value }, block) }, one[key].text.text)));
  }
  if (one.type === "button" || one.type === "icon_button") {
    return el("button", { type: "button", class: `button ${one.style || ""}`, "data-testid": "block-button", "data-action": one.action_id,
      "aria-label": one.accessibility_label, onclick: () => on.press(one, block) }, one.text.text);
  }
  if (one.options) {
    return el("select", { class: "select", "data-testid": "block-select", "data-action": one.action_id, "aria-label": one.placeholder?.text || "Choose",
      onchange: (event) => on.press({ ...one, value: event.target.value }, block) },
      el("option", { value: "", disabled: true, selected: true }, one.placeholder?.text || (one.type === "overflow" ? "…" : "Choose")),
      ...one.options.map((option) => el("option", { value: option.value }, option.text.text)));
  }
  return el("span", { class: "unknown" }, one.type);
}

const RENDER = {
  section: (block, on) => el("div", { class: "section" },
    el("div", { class: "section-text" }, block.text ? words(block.text, on.names) : null,
      block.fields ? el("div", { class: "fields" }, ...block.fields.map((field) => el("div", {}, words(field, on.names)))) : null),
    block.accessory ? el("div", { class: "accessory" }, element(block.accessory, block, on)) : null),
  header: (block, on) => el("h3", { class: "header" }, words(block.text, on.names)),
  divider: () => el("hr"),
  context: (block, on) => el("div", { class: "context" }, ...block.elements.map((one) => element(one, block, on))),
  actions: (block, on) => el("div", { class: "actions" }, ...block.elements.map((one) => element(one, block, on))),
  context_actions: (block, on) => el("div", { class: "actions" }, ...block.elements.map((one) => element(one, block, on))),
  markdown: (block, on) => markdown(block.text, on.names),
  rich_text: (block, on) => el("div", {}, ...block.elements.map((one) => richText(one, on.names))),
  image: (block) => el("img", { src: /^https:/.test(block.image_url || "") ? block.image_url : null, alt: block.alt_text, loading: "lazy" }),
  table: (block, on) => table(block, on.names),
  data_table: (block, on) => table(block, on.names),
  task_card: (block, on) => taskCard(block, on.names),
  plan: (block, on) => plan(block, on.names),
  alert: (block, on) => el("p", { class: `alert ${block.level || "default"}` }, words(block.text, on.names)),
  container: (block, on) => el("section", { class: "container" }, block.title ? el("h3", {}, words(block.title, on.names)) : null, blocks(block.blocks, on)),
  card: (block, on) => el("section", { class: "container" },
    block.title ? el("strong", {}, words(block.title, on.names)) : null, block.subtitle ? el("p", {}, words(block.subtitle, on.names)) : null,
    block.body ? el("p", {}, words(block.body, on.names)) : null,
    el("div", { class: "actions" }, ...(block.actions || []).map((one) => element(one, block, on)))),
  carousel: (block, on) => el("div", { class: "carousel" }, ...block.elements.map((one) => RENDER.card(one, on))),
};

export function blocks(list, on) {
  const into = document.createDocumentFragment();
  for (const block of list) {
    const render = RENDER[block.type];
    into.append(render ? render(block, on) : el("p", { class: "unknown" }, `[${block.type}]`));
  }
  return into;
}

export function textOf(message, names) {
  return message.format === "markdown" ? markdown(message.fallback, names) : mrkdwn(message.fallback, names);
}

export { inline };
