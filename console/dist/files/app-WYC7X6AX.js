import{f as r}from"./chunk-Q4WXS2Y4.js";import{A as e,b as o,s as m}from"./chunk-JBN2MLQN.js";o(e(r,{}),document.getElementById("console"));m();
