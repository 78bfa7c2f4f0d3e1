// Every view of the console, in the order of the menu.
//
// A view is a module:
//   icon              a name in icons.js
//   title(lang)       what the menu calls it
//   mount(root, app)  fills the empty element `root`; `app` is described in app.js
//   unmount()         ends what `app.signal` does not end
//   changed(args)     optional: the address changed within the view; without it, it is mounted anew

import * as chat from "./views/chat.js";
import * as settings from "./views/settings.js";

export const VIEWS = { chat, settings };
