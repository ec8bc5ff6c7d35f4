import{f as r}from"./chunk-MSSSDXHW.js";import{D as e,b as o,v as m}from"./chunk-KZXLIJEI.js";o(e(r,{}),document.getElementById("console"));m();
