import{f as r}from"./chunk-XOCSRHDX.js";import{A as e,b as o,s as m}from"./chunk-JBN2MLQN.js";o(e(r,{}),document.getElementById("console"));m();
