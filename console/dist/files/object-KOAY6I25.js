import{g as n}from"./chunk-RLH3V6A7.js";function e(t){return n("h1",{children:t.id??t.type})}export{e as ObjectPage};
