// Says that the gateway or its network is away, and when it is back.

import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { texts } from "../i18n.js";
import { icon } from "../icons.js";

const t = texts({
  en: {
    offline: "The gateway cannot be reached. Reconnecting…",
    away: "The gateway is not connected to the XMPP server. Reconnecting…",
    back: "Reconnected",
  },
  es: {
    offline: "No se puede contactar con la pasarela. Reconectando…",
    away: "La pasarela no está conectada al servidor XMPP. Reconectando…",
    back: "Conectado de nuevo",
  },
});

export class Banner {
  #connection;

  constructor(connection) {
    this.#connection = connection;
    this.node = el("div", { class: "banner", role: "alert", hidden: true });
    connection.addEventListener("changed", () => this.draw());
    connection.addEventListener("recovered", () => toast(t("back")));
  }

  draw() {
    const { state } = this.#connection;
    this.node.hidden = state === "ok";
    fill(this.node, state === "ok" ? [] : [icon("alert"), el("span", null, t(state))]);
  }
}
