import{i as r}from"./chunk-DULXAKNH.js";import{g as m}from"./chunk-GV62Z25J.js";import{b as o,t as e}from"./chunk-ME3TJI6N.js";o(e(r,{}),document.getElementById("console"));m();
