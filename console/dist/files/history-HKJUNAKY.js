import{c as a,d as b,e as c}from"./chunk-XOCSRHDX.js";import"./chunk-JBN2MLQN.js";export{b as Entries,a as HistoryPage,c as idOf};
