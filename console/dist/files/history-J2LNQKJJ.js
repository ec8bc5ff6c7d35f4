import{c as a,d as b,e as c}from"./chunk-5MO7RS34.js";import"./chunk-QHQJY4GN.js";import"./chunk-LVUSIRKY.js";import"./chunk-BX4BRP42.js";export{b as Entries,a as HistoryPage,c as idOf};
