import { render } from "preact";
import { begin } from "./api";
import { App } from "./app";

render(<App />, document.getElementById("console")!);
void begin();
