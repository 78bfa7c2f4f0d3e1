// The page: which view is shown, and what all views share.
//
// Every view is mounted with an `app` of its own:
//   args               what the address says after the view's name, decoded
//   signal             aborted when the view goes; give it to requests and listeners
//   me                 {principal, is_admin, ...} of GET /api/v0/me, or null before it came
//   go(...segments)    to another address: go("chat", id); replace(...segments) without a step back
//   heading({title, detail, actions})   the bar above the view
//   key(key, does, run)                 a shortcut while the view is shown
//   sessions           the conversations (sessions.js)
//   onPerson(run)      when `me` is there, or has changed
//   onRecovered(run)   after the gateway could not be reached, and can be again
//   remount()          the view from the start

import { get, traffic } from "./api.js";
import { forgetTalks } from "./chat/talks.js";
import { connection } from "./connection.js";
import { el, fill } from "./dom.js";
import { isStopped } from "./errors.js";
import { language, texts } from "./i18n.js";
import { Banner } from "./shell/banner.js";
import { Shortcuts } from "./shell/shortcuts.js";
import { Sidebar } from "./shell/sidebar.js";
import { askForToken } from "./shell/sign_in.js";
import { TopBar } from "./shell/top_bar.js";
import { applyTheme } from "./shell/theme.js";
import { store } from "./store.js";
import { shelfOfToasts } from "./components/toast.js";
import { VIEWS } from "./views.js";

const FIRST = "chat";

const t = texts({
  en: { skip: "Skip to content", product: "SPADE-LLM" },
  es: { skip: "Saltar al contenido", product: "SPADE-LLM" },
});

class App {
  #shown = null; // {name, view, abort, app}
  #me = null;
  #people = new EventTarget();

  constructor() {
    this.main = el("main", { id: "view", tabindex: "-1" });
    this.shortcuts = new Shortcuts();
    this.banner = new Banner(connection);
    this.topBar = new TopBar(() => this.sidebar.open());
    this.sidebar = new Sidebar({ go: this.go, shortcuts: this.shortcuts });
    window.addEventListener("hashchange", () => this.#route());
    store.watch("language", () => this.#draw());
    store.watch("theme", applyTheme);
    store.watch("token", () => this.#becomeAnother());
    connection.addEventListener("recovered", () => this.#becomeSomeone());
    traffic.addEventListener("failed", ({ detail }) => detail.kind === "unknown" && askForToken());
  }

  start() {
    applyTheme();
    this.#draw();
    this.#becomeSomeone();
  }

  go = (...segments) => {
    location.hash = address(segments);
  };

  replace = (...segments) => {
    history.replaceState(null, "", address(segments));
    this.#route();
  };

  #draw() {
    document.documentElement.lang = language();
    this.sidebar.draw();
    this.topBar.draw();
    this.banner.draw();
    const skip = () => this.main.focus();
    fill(
      document.body,
      el("button", { type: "button", class: "skip", on: { click: skip } }, t("skip")),
      el(
        "div",
        { class: "shell" },
        this.sidebar.node,
        el("div", { class: "stage" }, this.topBar.node, this.banner.node, this.main),
      ),
      shelfOfToasts(),
    );
    this.#route(true);
  }

  #becomeAnother() {
    forgetTalks();
    this.sidebar.sessions.forget();
    this.#becomeSomeone();
    this.#route(true);
  }

  async #becomeSomeone() {
    try {
      this.#me = await get("api/v0/me");
    } catch (error) {
      if (isStopped(error)) return;
      this.#me = null;
    }
    this.sidebar.showPrincipal(this.#me);
    this.#people.dispatchEvent(new Event("changed"));
    if (this.#me) this.sidebar.sessions.load();
  }

  #route(isAnew = false) {
    const [name, ...args] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
    const known = name in VIEWS ? name : FIRST;
    const shown = this.#shown;
    this.sidebar.close();
    if (!isAnew && shown?.name === known && shown.view.changed) {
      shown.app.args = args;
      shown.view.changed(args);
    } else this.#show(known, args);
    this.sidebar.showCurrent(known, args);
  }

  #show(name, args) {
    this.#leave();
    const view = VIEWS[name];
    const root = el("div", { class: `view view-${name}` });
    const abort = new AbortController();
    const app = this.#appFor(args, abort.signal);
    this.#shown = { name, view, abort, app };
    fill(this.main, root);
    app.heading({ title: view.title(language()) });
    view.mount(root, app);
  }

  #leave() {
    this.#shown?.abort.abort();
    this.#shown?.view.unmount();
    this.#shown = null;
  }

  #appFor(args, signal) {
    const whole = this;
    return {
      args,
      signal,
      get me() {
        return whole.#me;
      },
      go: this.go,
      replace: this.replace,
      heading: (heading) => {
        this.topBar.show(heading);
        document.title = `${heading.title} · ${t("product")}`;
      },
      key: (key, does, run) => this.shortcuts.add(key, does, run, signal),
      onPerson: (run) => this.#people.addEventListener("changed", run, { signal }),
      onRecovered: (run) => connection.addEventListener("recovered", run, { signal }),
      remount: () => this.#route(true),
      sessions: this.sidebar.sessions,
    };
  }
}

function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // written by hand
  }
}

function address(segments) {
  return `#/${segments.map(encodeURIComponent).join("/")}`;
}

new App().start();
