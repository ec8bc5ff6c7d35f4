import{i as r}from"./chunk-FQ2VNTSM.js";import{g as m}from"./chunk-GXSLEKZB.js";import{b as o,t as e}from"./chunk-2AHJYTDV.js";o(e(r,{}),document.getElementById("console"));m();
