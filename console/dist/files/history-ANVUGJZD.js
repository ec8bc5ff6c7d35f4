import{c as a,d as b,e as c}from"./chunk-Q4WXS2Y4.js";import"./chunk-JBN2MLQN.js";export{b as Entries,a as HistoryPage,c as idOf};
