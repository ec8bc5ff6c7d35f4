import{f as r}from"./chunk-CG2QXNFV.js";import{k as m}from"./chunk-2FGYI6WG.js";import{f as o,g as e}from"./chunk-RLH3V6A7.js";o(e(r,{}),document.getElementById("console"));m();
