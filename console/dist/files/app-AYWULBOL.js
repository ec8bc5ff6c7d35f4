import{f as r}from"./chunk-6REGPO7X.js";import{D as e,b as o,v as m}from"./chunk-KZXLIJEI.js";o(e(r,{}),document.getElementById("console"));m();
