import{i as r}from"./chunk-5WS4GQ5P.js";import{g as m}from"./chunk-RRHMQEFF.js";import{b as o,t as e}from"./chunk-OJPTSPMB.js";o(e(r,{}),document.getElementById("console"));m();
