import{i as r}from"./chunk-HCO4DUEW.js";import{g as m}from"./chunk-U3YBPJFE.js";import{b as o,t as e}from"./chunk-OJPTSPMB.js";o(e(r,{}),document.getElementById("console"));m();
