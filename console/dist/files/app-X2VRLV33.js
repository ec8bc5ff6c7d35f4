import{g as r}from"./chunk-JEA5MICL.js";import{e as m}from"./chunk-GZFKQSAE.js";import{b as o,r as e}from"./chunk-HLSJQFGS.js";o(e(r,{}),document.getElementById("console"));m();
