import { render } from "preact";
import { begin } from "./api";
import { App } from "./app";

await begin();
render(<App />, document.getElementById("console")!);
