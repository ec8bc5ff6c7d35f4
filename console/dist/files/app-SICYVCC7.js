import{i as r}from"./chunk-IXEKYLRI.js";import{g as m}from"./chunk-JZJQ3Z2O.js";import{b as o,t as e}from"./chunk-OJPTSPMB.js";o(e(r,{}),document.getElementById("console"));m();
