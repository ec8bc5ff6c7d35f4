import{i as r}from"./chunk-M2CNS26S.js";import{g as m}from"./chunk-3XSHR4WA.js";import{b as o,t as e}from"./chunk-7R5ARZW6.js";o(e(r,{}),document.getElementById("console"));m();
