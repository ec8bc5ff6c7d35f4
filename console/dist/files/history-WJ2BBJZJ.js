import{b as a,c as b,d as c}from"./chunk-YYXV2YQZ.js";import"./chunk-FZLIRMUX.js";import"./chunk-X7TUU5RY.js";import"./chunk-WLH6RHLV.js";export{b as Entries,a as HistoryPage,c as idOf};
