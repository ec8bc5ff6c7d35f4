import{i as r}from"./chunk-LFGRX5M5.js";import{g as m}from"./chunk-EUOM6AIJ.js";import{b as o,t as e}from"./chunk-7TYVNVYB.js";o(e(r,{}),document.getElementById("console"));m();
