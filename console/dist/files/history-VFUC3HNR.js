import{b as a,c as b,d as c}from"./chunk-353TGDZG.js";import"./chunk-HYV5V7GZ.js";import"./chunk-E3U5LLHO.js";import"./chunk-JPM3ZXCE.js";export{b as Entries,a as HistoryPage,c as idOf};
