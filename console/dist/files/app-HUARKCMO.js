import{i as r}from"./chunk-OUNTMR5K.js";import{g as m}from"./chunk-CMETEOHH.js";import{b as o,t as e}from"./chunk-NEU3LW65.js";o(e(r,{}),document.getElementById("console"));m();
