import{i as r}from"./chunk-XTL45LTZ.js";import{g as m}from"./chunk-MFRPJY24.js";import{b as o,t as e}from"./chunk-NEU3LW65.js";o(e(r,{}),document.getElementById("console"));m();
