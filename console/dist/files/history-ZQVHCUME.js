import{d as a,e as b,f as c}from"./chunk-3VX3TK5K.js";import"./chunk-4VMXARFS.js";import"./chunk-7CVGC22S.js";import"./chunk-UIOP3KWL.js";export{b as Entries,a as HistoryPage,c as idOf};
