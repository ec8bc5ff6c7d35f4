import{i as r}from"./chunk-BHO2GXAP.js";import{g as m}from"./chunk-YL7NWV7V.js";import{b as o,t as e}from"./chunk-2AHJYTDV.js";o(e(r,{}),document.getElementById("console"));m();
