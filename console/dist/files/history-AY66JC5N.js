import{c as a,d as b,e as c}from"./chunk-6REGPO7X.js";import"./chunk-KZXLIJEI.js";export{b as Entries,a as HistoryPage,c as idOf};
