import{c as a,d as b,e as c}from"./chunk-OD3Z6UBG.js";import"./chunk-62GL3BTK.js";import"./chunk-I3IQOK3X.js";import"./chunk-BX4BRP42.js";export{b as Entries,a as HistoryPage,c as idOf};
