import{c as a,d as b,e as c}from"./chunk-CG2QXNFV.js";import"./chunk-2FGYI6WG.js";import"./chunk-RLH3V6A7.js";export{b as Entries,a as HistoryPage,c as idOf};
