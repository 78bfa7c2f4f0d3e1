// A tool wants a yes: the question, where the answer is being written.

import { button } from "../components/button.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain } from "../errors.js";
import { icon } from "../icons.js";
import { t } from "./texts.js";

const TICK_MS = 1000;

/** `question`: of the stream's `asked`, with `state` and `at`; `answer`(isApproved) -> Promise. */
export function approval(question, answer) {
  const isOpen = question.state === "open";
  const left = el("p", { class: "hint", "aria-live": "off" });
  const say = (isApproved) => async () => {
    try {
      await answer(isApproved);
    } catch (error) {
      toast(explain(error), { kind: "failed" });
    }
  };
  const node = el(
    "div",
    { class: `approval is-${question.state}`, role: "group", "aria-label": t("askedTitle", question.tool) },
    el("p", { class: "approval-title" }, icon(isOpen ? "help" : "info"), t("askedTitle", question.tool)),
    question.arguments.length > 0 &&
      el("ul", { class: "approval-arguments" }, question.arguments.map((one) => el("li", null, el("code", null, one)))),
    isOpen
      ? el(
          "div",
          { class: "approval-answer" },
          button({ label: t("allow"), kind: "primary", on: say(true) }),
          button({ label: t("refuse"), on: say(false) }),
          left,
        )
      : el("p", { class: "hint" }, t(question.state)),
  );
  if (isOpen) countDown(node, left, question);
  return node;
}

function countDown(node, left, question) {
  const tick = () => {
    const seconds = question.expires_s - (Date.now() - question.at) / 1000;
    fill(left, t("left", Math.max(0, Math.ceil(seconds))));
  };
  tick();
  const timer = setInterval(() => (node.isConnected ? tick() : clearInterval(timer)), TICK_MS);
}
