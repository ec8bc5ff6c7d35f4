// The texts of administration.

import { add } from "../texts";

add({
  "token.title": "The new token",
  "token.once": "Store the token now, where the program keeps its secrets. It is not shown again.",
  "token.token": "Token",
  "token.copy": "Copy",
  "token.copied": "Copied.",
  "token.select": "The browser does not let the page copy. The token is selected: copy it with the keyboard.",
  "token.close": "I have stored it",
  "token.leave": "The token is not shown again. Leave the page, and lose it?",
});
