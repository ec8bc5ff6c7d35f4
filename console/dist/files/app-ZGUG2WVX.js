import{c as m,s as r}from"./chunk-REYSIVUP.js";import{f as o,g as e}from"./chunk-RLH3V6A7.js";await m();o(e(r,{}),document.getElementById("console"));
