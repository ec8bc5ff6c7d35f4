import{i as r}from"./chunk-WY5FJLJB.js";import{g as m}from"./chunk-IYUKNR5J.js";import{b as o,t as e}from"./chunk-P4IESZFK.js";o(e(r,{}),document.getElementById("console"));m();
