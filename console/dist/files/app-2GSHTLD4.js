import{i as r}from"./chunk-5JR7O6QI.js";import{g as m}from"./chunk-IM4JIPSX.js";import{b as o,t as e}from"./chunk-ZIOC5WSY.js";o(e(r,{}),document.getElementById("console"));m();
