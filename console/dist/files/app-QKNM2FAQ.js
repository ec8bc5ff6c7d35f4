import{i as r}from"./chunk-N623EDLQ.js";import{g as m}from"./chunk-WZJ7NBNS.js";import{b as o,t as e}from"./chunk-7NCRTTXU.js";o(e(r,{}),document.getElementById("console"));m();
