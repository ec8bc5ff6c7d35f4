import{d as a,e as b,f as c}from"./chunk-ACV46NNV.js";import"./chunk-76PO2G3C.js";import"./chunk-ULTTKFIP.js";import"./chunk-CCWY7TWI.js";export{b as Entries,a as HistoryPage,c as idOf};
