import{c as a,d as b,e as c}from"./chunk-ZQQ34NFJ.js";import"./chunk-CIUOQRWM.js";import"./chunk-QPBBURJ5.js";import"./chunk-FM3OPNN6.js";export{b as Entries,a as HistoryPage,c as idOf};
