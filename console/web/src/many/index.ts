// What is done with many objects at once, which is loaded when it is first used.
export { ChangeMany } from "./change";
export { Export } from "./export";
export { Import } from "./import";
