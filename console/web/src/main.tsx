import { render } from "preact";
import { t } from "./texts";

render(<h1>{t("app.name")}</h1>, document.getElementById("console")!);
