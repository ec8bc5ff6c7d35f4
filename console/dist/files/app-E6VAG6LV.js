import{j as r}from"./chunk-VACX323H.js";import{g as m}from"./chunk-JZHSREK3.js";import{b as o,t as e}from"./chunk-AB26E5RW.js";o(e(r,{}),document.getElementById("console"));m();
