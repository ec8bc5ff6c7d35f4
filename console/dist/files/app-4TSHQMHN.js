import{i as r}from"./chunk-WGQPRUOV.js";import{g as m}from"./chunk-ENKGXQPL.js";import{b as o,t as e}from"./chunk-OJPTSPMB.js";o(e(r,{}),document.getElementById("console"));m();
