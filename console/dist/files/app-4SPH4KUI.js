import{e as r}from"./chunk-WOXFOSC7.js";import{k as m}from"./chunk-GZ7MPWVD.js";import{f as o,g as e}from"./chunk-RLH3V6A7.js";await m();o(e(r,{}),document.getElementById("console"));
