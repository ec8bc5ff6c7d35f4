import{c as a,d as b,e as c}from"./chunk-MSSSDXHW.js";import"./chunk-KZXLIJEI.js";export{b as Entries,a as HistoryPage,c as idOf};
